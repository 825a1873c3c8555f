import type { FastifyInstance } from 'fastify';
import { AsyncLocalStorage } from 'node:async_hooks';

/** HttpCall is a call in progress, whose answer may turn out to be that of an earlier one. */
interface HttpCall {
  isReplay: boolean;
}

const calls = new AsyncLocalStorage<HttpCall>();
/** Uses of Idempotency-Keys, by the call that they came with. A copy of a use belongs to none. */
const callOf = new WeakMap<object, HttpCall>();

/** rememberCall ties the use of a key to the HTTP call in which it is read, since keys are claimed for many calls at once. */
export function rememberCall<Use extends object>(use: Use): Use {
  const call = calls.getStore();
  if (call !== undefined) callOf.set(use, call);
  return use;
}

/** markReplay says that the key was used before: the answer of the call gets the header `Idempotent-Replayed`. */
export function markReplay(use: object): void {
  const call = callOf.get(use);
  if (call !== undefined) call.isReplay = true;
}

/** announceReplays adds `Idempotent-Replayed: true` to answers of calls that did nothing, because an earlier one with their key did it. */
export function announceReplays(server: FastifyInstance): void {
  server.addHook('onRequest', (_request, _reply, done) => calls.run({ isReplay: false }, done));
  server.addHook('onSend', (_request, reply, payload, done) => {
    if (calls.getStore()?.isReplay === true) void reply.header('idempotent-replayed', 'true');
    done(null, payload);
  });
}
