import type { FastifyInstance } from 'fastify';
import { AsyncLocalStorage } from 'node:async_hooks';

/** HttpCall is a request in progress. `isReplay`: the response is the response of an earlier request. */
interface HttpCall {
  isReplay: boolean;
}

const calls = new AsyncLocalStorage<HttpCall>();
/** Uses of Idempotency-Keys by request. A copy of a use is not associated with a request. */
const callOf = new WeakMap<object, HttpCall>();

/**
 * rememberCall associates the use of a key with the current request. Keys of many requests are claimed together, outside of the context of a single request.
 */
export function rememberCall<Use extends object>(use: Use): Use {
  const call = calls.getStore();
  if (call !== undefined) callOf.set(use, call);
  return use;
}

/** markReplay records that the key was used before, so that the response gets the header `Idempotent-Replayed`. */
export function markReplay(use: object): void {
  const call = callOf.get(use);
  if (call !== undefined) call.isReplay = true;
}

/** announceReplays adds `Idempotent-Replayed: true` to responses of requests that were not carried out because an earlier request had used the key. */
export function announceReplays(server: FastifyInstance): void {
  server.addHook('onRequest', (_request, _reply, done) => calls.run({ isReplay: false }, done));
  server.addHook('onSend', (_request, reply, payload, done) => {
    if (calls.getStore()?.isReplay === true) void reply.header('idempotent-replayed', 'true');
    done(null, payload);
  });
}
