import type { FastifyRequest } from 'fastify';
import type { ErrorShape, ForeignAnswer, Refusal } from '../../platform/http/server/problem.filter.js';

/** Operations of the transit engine that a service which signs has nothing for. */
const NO_SIGNATURES =
  /^\/v1\/transit\/(?:backup|cache-config|datakey|decrypt|encrypt|hash|hmac|random|restore|rewrap|wrapping_key)(?:\/|\?|$)/;
const PERMISSION_DENIED = 'permission denied';

/**
 * Refusals as Vault answers them: `{"errors": [text, …]}` and nothing beside it, since its Go client takes a 404 with any other member for
 * an answer. A missing or unknown token is 403; a key that is not there is 404 with an empty list where it is read, and 400 where it is
 * used; whatever else the state does not allow is 400.
 */
export const vaultErrors: ErrorShape = (refusal, request) => {
  const { status, problem } = refusal;
  if (problem.code === 'route.missing' || problem.code === 'route.method') return ofRouter(problem.code, request);
  if (problem.code === 'signing-key.unknown' || status === 404) return ofAbsence(problem.code, request);
  if (status === 401 || problem.scope !== undefined) return answer(403, PERMISSION_DENIED, problem.message);
  if (status < 500 && ![400, 403, 429].includes(status)) return answer(400, problem.message);
  return answer(status, problem.message);
};

function ofRouter(code: string, { url, method }: FastifyRequest): ForeignAnswer {
  if (NO_SIGNATURES.test(url) && method !== 'GET')
    return answer(
      400,
      'this operation is not supported: the keys of this service sign and verify, and do nothing else',
    );
  if (code === 'route.method') return answer(405, '1 error occurred:\n\t* unsupported operation\n\n');
  const route = url.replace(/^\/v1\//, '').split('?', 1)[0];
  return answer(404, `no handler for route "${route}". route entry not found.`);
}

function ofAbsence(code: string, { method }: FastifyRequest): ForeignAnswer {
  if (method === 'GET' || method === 'HEAD') return answer(404);
  return code === 'signing-key.unknown' ? answer(400, 'signing key not found') : answer(404);
}

function answer(status: number, ...errors: string[]): ForeignAnswer {
  return { status, body: { errors } };
}

/** SignServer's REST interface answers `{"error": text}`, which jsign shows. HTTP Basic is what its clients know. */
export const signServerErrors: ErrorShape = ({ status, problem }: Refusal) => ({
  status: problem.code === 'signing-key.unknown' ? 404 : status,
  body: { error: problem.message },
  ...(status === 401 ? { headers: { 'www-authenticate': 'Basic realm="sealwright"' } } : {}),
});
