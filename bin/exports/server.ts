/// <reference types="node" preserve="true" />
// For the programs of an application. The kernel and its server are loaded when a program calls
// for them: the supervisor needs neither.
export type { Kernel } from '../../kernel/kernel.ts'
export type { TlsIdentity } from '../../kernel/server/http-server.ts'
export type { NodeServer, NodeServerOptions } from '../../kernel/server/node-server.ts'
export { type BootOptions, bootApplication, createNodeServer, runConsole, runTests, serve } from '../programs.ts'
export type { ServeOptions } from '../serving/own-program.ts'
