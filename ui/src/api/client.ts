import { client } from './generated/client.gen.js';
import { ApiProblem } from './problem.js';

const listeners = new Set<() => void>();

/** Tells when the service no longer knows who is calling. */
export function onSignedOut(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Signing in, showing oneself again and asking who one is: refused, they say nothing about a session that ended. */
const ASK_WHO = /\/api\/auth\/(?:session|step-up|me|password)$/;

/** The cookie goes along by itself; the header shows that the call comes from a page of ours and not from another site. */
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

/** A name for this very order, so that sending it twice does it once. */
export const onceOnly = () => ({ 'Idempotency-Key': crypto.getRandomValues(new Uint32Array(4)).join('-') });

/** What a change is meant for, so that it is refused when somebody else changed it meanwhile. */
export const ifMatch = (version: number) => ({ 'If-Match': `"${version}"` });
