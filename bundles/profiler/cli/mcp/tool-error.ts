/** A question that cannot be answered; the message tells the agent what it could ask instead. */
export class ToolError extends Error {}
