import path from 'node:path'
import type { Bundle } from '../../kernel/bundle.ts'
import { Response } from '../../lib/http/response.ts'
import { packageDirectory } from '../../lib/package.ts'
import { home } from './profile/links.ts'
import { addScreens } from './screens.ts'
import type { ServerRecorder } from './server-recorder.ts'
import { profilerSettings } from './settings.ts'
import type { UnitedStorage } from './store/united-storage.ts'

/**
 * Creates the bundle of a kernel that only shows profiles: those that a recorder makes of the
 * requests of other servers. `storage` may have those of other programs, too.
 */
export function createViewerBundle(recorder: ServerRecorder, storage: UnitedStorage): Bundle {
  const { profiler, replaySecret } = recorder
  return {
    name: 'profiler',
    isCore: true,
    templates: path.join(packageDirectory, 'templates/profiler'),
    settings: profilerSettings,

    register(app) {
      const { armFile, cpu, policy } = recorder
      addScreens(
        app,
        { armFile, cpu, policy, profiler, storage },
        {
          isViewer: true,
          programs: storage,
          async loadReplayer() {
            const { ServerReplayer } = await import('./insight/replay/server-replayer.ts')
            return new ServerReplayer({ profiler, storage, ownSecret: replaySecret })
          },
        },
      )
      recorder.signals.on('profile.saved', summary => app.signals.emit('profile.saved', summary))
      app.routes.get('_profiler_viewer', '/', () => Response.redirect(home))
      // The error of a missing route would be logged, as if it were one of the application.
      app.routes.add({
        name: '_profiler_viewer_missing',
        path: '/{*_rest}',
        defaults: { _log: false },
        controller: () => Response.text(`Only the profiler is here: ${home}\n`, { status: 404 }),
      })
    },

    close: () => recorder.close(),
  }
}
