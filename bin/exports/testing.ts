/// <reference types="node" preserve="true" />
// For tests of a bundle, without a network and without a profiler.

export {
  type ClientRequestInit,
  type CookieJar,
  type OpenResponse,
  TestClient,
  type TestClientOptions,
  type TestResponse,
} from '../../kernel/testing/client.ts'
export {
  type BareKernel,
  type BareKernelOptions,
  createBareKernel,
  createTestKernel,
  type TestKernel,
  type TestKernelOptions,
} from '../../kernel/testing/create-test-kernel.ts'
export {
  createControllerArgumentsEvent,
  createControllerEvent,
  createExceptionEvent,
  createFinishRequestEvent,
  createRequest,
  createRequestEvent,
  createResponseEvent,
  createTerminateEvent,
  createViewEvent,
  type EventInit,
  encodeUpload,
  type MultipartFields,
  type ResponseEventInit,
  silentLogger,
  type TerminateEventInit,
  type TestBody,
  type TestFile,
  type TestRequestInit,
} from '../../kernel/testing/event-factories.ts'
export { type RecordedDispatch, RecordingDispatcher } from '../../kernel/testing/recording-dispatcher.ts'
export { type CommandResult, runCommand } from '../commands/run-command.ts'
