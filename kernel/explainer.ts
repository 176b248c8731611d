/** Opens connections on which the console shows how a database runs a query. An application adds one per database system. */
export interface Explainer {
  /** The `db.system.name` of OpenTelemetry: `postgresql`, `mysql` or `mariadb`. */
  readonly system: string
  /** Opens a connection that nothing else uses: its settings are changed. */
  connect(): Promise<ExplainConnection>
}

/** A connection for the statements of one plan. */
export interface ExplainConnection {
  /** Runs a statement with the values of its placeholders, and returns the rows as objects. */
  run(statement: string, values: readonly unknown[]): Promise<readonly object[]>
  close(): Promise<void>
}
