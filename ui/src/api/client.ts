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
  client.interceptors.error.use((error, response, request) => {
    const problem = ApiProblem.of(error, response);
    const asked = request === undefined ? '' : new URL(request.url).pathname;
    if (problem.status === 401 && !ASK_WHO.test(asked)) for (const listener of listeners) listener();
    return problem;
  });
}

/** Idempotency key of one order. */
export const onceOnly = () => ({ 'Idempotency-Key': crypto.getRandomValues(new Uint32Array(4)).join('-') });

/** If-Match header: the change is refused if the resource has another version by now. */
export const ifMatch = (version: number) => ({ 'If-Match': `"${version}"` });
