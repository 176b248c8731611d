/// <reference types="node" preserve="true" />
// For applications on several machines: it needs the package ioredis.
export {
  createRedisProfileStorage,
  type RedisProfileStorageOptions,
} from '../../bundles/profiler/store/redis/redis-profile-storage.ts'
export { createRedisSessionStore, type RedisSessionStoreOptions } from '../../lib/session/redis-session-store.ts'
