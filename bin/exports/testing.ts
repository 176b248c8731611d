/// <reference types="node" preserve="true" />
// For tests of a bundle, without a network and without a profiler.
export {
  type ClientRequestInit,
  TestClient,
  type TestClientOptions,
  type TestResponse,
} from '../../kernel/testing/client.ts'
export type { CookieJar } from '../../kernel/testing/cookie-jar.ts'
export { type BareKernel, type BareKernelOptions, createBareKernel } from '../../kernel/testing/create-bare-kernel.ts'
export { createTestKernel, type TestKernel, type TestKernelOptions } from '../../kernel/testing/create-test-kernel.ts'
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
  type ResponseEventInit,
  silentLogger,
  type TerminateEventInit,
  type TestRequestInit,
} from '../../kernel/testing/event-factories.ts'
export type { OpenResponse } from '../../kernel/testing/open-response.ts'
export { type RecordedDispatch, RecordingDispatcher } from '../../kernel/testing/recording-dispatcher.ts'
export { encodeUpload, type MultipartFields, type TestBody, type TestFile } from '../../kernel/testing/test-body.ts'
