import type { Bundle } from '../../kernel/bundle.ts'
import { isOfServer, recordServers } from './any-server/exchange.ts'
import { type BundleOptions, createBundle, type ServerRecorder } from './create-bundle.ts'

/** The options of a viewer. */
export interface ViewerOptions
  extends Required<Pick<BundleOptions, 'storage' | 'armFile'>>,
    Omit<ServerRecorder, 'isOfServer' | 'recordServers'> {}

/**
 * Creates the bundle of a kernel that only shows profiles: those of the requests of all other servers of the process. They are recorded
 * from the signal `server.listening` on, which names the address of the pages.
 */
export function createViewerBundle({ armFile, storage, ...options }: ViewerOptions): Bundle {
  // Other servers have no probes of a kernel, and their assets are a part of what they do.
  const ignoredPaths = ['/.well-known/appspecific/com.chrome.devtools.json']
  return createBundle({ armFile, storage, ignoredPaths }, { isOfServer, recordServers, ...options })
}
