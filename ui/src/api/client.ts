import { client } from './generated/client.gen.js';
import { ApiProblem } from './problem.js';

const listeners = new Set<() => void>();

/** onSignedOut is called when the session is no longer valid. */
export function onSignedOut(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Operations whose 401 response does not mean that the session ended: sign-in, step-up and reading the session. */
const WITHOUT_SESSION = /\/api\/auth\/(?:session|step-up|me|password)$/;

/** configureClient sets up the API client. The browser sends the session cookie; the header proves that a call comes from the console (CSRF). */
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
    if (problem.status === 401 && !WITHOUT_SESSION.test(asked)) for (const listener of listeners) listener();
    return problem;
  });
}

/** Session storage key for the time of the last change made in this tab, in milliseconds since 1970. */
const CHANGED_AT = 'sealwright.changed-at';

/** readOwnChanges makes reads return at least the state after the last change in this tab, even from a database standby (docs/scaling.md). */
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

/** onceOnly returns headers with an idempotency key, so that a retried call is carried out once. */
export const onceOnly = () => ({ 'Idempotency-Key': crypto.getRandomValues(new Uint32Array(4)).join('-') });

/** ifMatch returns an If-Match header: the change is rejected if the resource has another version by now. */
export const ifMatch = (version: number) => ({ 'If-Match': `"${version}"` });
