/// <reference types="node" preserve="true" />
// For the programs of an application.
export { Kernel, type KernelOptions } from '../../kernel/kernel.ts'
export type { TlsIdentity } from '../../kernel/server/http-server.ts'
export { NodeServer, type NodeServerOptions } from '../../kernel/server/node-server.ts'
export { type BootOptions, bootApplication } from '../application.ts'
export { runConsole, runTests, serve } from '../programs.ts'
