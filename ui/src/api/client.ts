import { client } from './generated/client.gen.js';
import { ApiProblem } from './problem.js';

const listeners = new Set<() => void>();

/** Notified when the session is no longer valid. */
export function onSignedOut(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Operations whose 401 does not mean that the session ended: sign-in, step-up, reading the session. */
const ASK_WHO = /\/api\/auth\/(?:session|step-up|me|password)$/;

/** The browser sends the cookie; the header proves that the call comes from the console and not from another site (CSRF). */
export function configureClient(): void {
  client.setConfig({
    baseUrl: '',
    headers: { 'x-csrf-protection': '1' },
    querySerializer: { array: { explode: true, style: 'form' } },
  });
  readOwnChanges();
  client.interceptors.error.use((error, response, request) => {
    const problem = ApiProblem.of(error, response);
    const asked = request === undefined ? '' : new URL(request.url).pathname;
    if (problem.status === 401 && !ASK_WHO.test(asked)) for (const listener of listeners) listener();
    return problem;
  });
}

/** Session storage key: when this tab last changed something, in milliseconds since 1970. */
const CHANGED_AT = 'sealwright.changed-at';

/** What is read after an own change is not older than it, also where lists come from a standby of the database (docs/scaling.md). */
function readOwnChanges(): void {
  client.interceptors.response.use((response, request) => {
    if (request.method !== 'GET') sessionStorage.setItem(CHANGED_AT, String(Date.now()));
    return response;
  });
  client.interceptors.request.use((request) => {
    const changedAt = Number(sessionStorage.getItem(CHANGED_AT) ?? 0);
    const seconds = Math.max(0, Math.floor((Date.now() - changedAt) / 1000));
    if (request.method === 'GET' && changedAt > 0) request.headers.set('cache-control', `max-age=${seconds}`);
    return request;
  });
}

/** Idempotency key of one order. */
export const onceOnly = () => ({ 'Idempotency-Key': crypto.getRandomValues(new Uint32Array(4)).join('-') });

/** If-Match header: the change is refused if the resource has another version by now. */
export const ifMatch = (version: number) => ({ 'If-Match': `"${version}"` });
