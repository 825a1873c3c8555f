import type { FastifyRequest } from 'fastify';
import type { ErrorShape, ForeignAnswer, Refusal } from '../../platform/http/server/problem.filter.js';

/** Transit operations that a signing service does not support. */
const NO_SIGNATURES =
  /^\/v1\/transit\/(?:backup|byok-export|cache-config|config|datakey|decrypt|encrypt|hash|hmac|random|restore|rewrap|wrapping_key)(?:\/|\?|$)/;
/** Transit operations on keys for which this service has its own endpoints. */
const KEY_CARE =
  /^\/v1\/transit\/keys\/[^/?]+\/(?:config|csr|import|import_version|rotate|set-certificate|soft-delete|soft-delete-restore|trim)(?:\?|$)/;
const PERMISSION_DENIED = 'permission denied';
const NOT_IN_A_HEADER = /[^\x20-\x7e]/gu;
const SEND_BASIC = 'Send the API key as the password of HTTP Basic, with any user name.';
const NOT_SUPPORTED = 'this operation is not supported';
const SIGN_ALONE = 'this service supports only signing and verification';
const CARE_ELSEWHERE = 'rotate, certify and restrict keys at /api/v1/signing-keys or in the console';
const SEND_HASH = 'hash the input yourself and send the hash value with prehashed: true';
const OTHER_MOUNT =
  'signing keys are available at transit/ and at the mount paths in SVC_TRANSIT_MOUNTS (TRANSIT_SECRET_ENGINE_PATH of cosign)';

/**
 * Returns errors as Vault does: `{"errors": [text, …]}` without other members, because Vault's Go client treats a 404 with other members as a response. A
 * missing or unknown token causes a 403. A missing key causes a 404 with an empty list when the key is read, and a 400 when the key is used. Other state
 * errors cause a 400.
 */
export const vaultErrors: ErrorShape = (refusal, request) => {
  const { status, problem } = refusal;
  if (problem.code === 'route.missing' || problem.code === 'route.method') return ofRouter(problem.code, request);
  if (problem.code === 'signing-key.unknown' || status === 404) return ofAbsence(problem.code, request);
  if (status === 401 || problem.scope !== undefined) return answer(403, PERMISSION_DENIED, problem.message);
  if (status === 413) return answer(413, `${problem.message} To sign more, ${SEND_HASH}.`);
  if (status < 500 && ![400, 403, 429].includes(status)) return answer(400, problem.message);
  return answer(status, problem.message);
};

function ofRouter(code: string, { url }: FastifyRequest): ForeignAnswer {
  if (NO_SIGNATURES.test(url)) return answer(400, `${NOT_SUPPORTED}: ${SIGN_ALONE}`);
  if (KEY_CARE.test(url)) return answer(400, `${NOT_SUPPORTED}: ${CARE_ELSEWHERE}`);
  if (code === 'route.method') return answer(405, '1 error occurred:\n\t* unsupported operation\n\n');
  return answer(404, noHandler(url));
}

/** Handles Vault requests to a mount that does not exist. Vault clients are recognized by their headers, because this service has other routes under /v1/. */
export const otherMountErrors: ErrorShape = ({ status }, { url, headers, is404 }) =>
  status === 404 && is404 && ('x-vault-token' in headers || 'x-vault-request' in headers)
    ? answer(404, noHandler(url), OTHER_MOUNT)
    : undefined;

function noHandler(url: string): string {
  const route = url.replace(/^\/v1\//, '').split('?', 1)[0];
  return `no handler for route "${route}". route entry not found.`;
}

function ofAbsence(code: string, { method }: FastifyRequest): ForeignAnswer {
  if (method === 'GET' || method === 'HEAD') return answer(404);
  return code === 'signing-key.unknown' ? answer(400, 'signing key not found') : answer(404);
}

function answer(status: number, ...errors: string[]): ForeignAnswer {
  return { status, body: { errors } };
}

/**
 * Returns errors as SignServer's REST interface does: `{"error": text}`, which jsign shows. The text is repeated in a header, because SignClient shows only
 * the header. Both clients use HTTP Basic.
 */
export const signServerErrors: ErrorShape = ({ status, problem }: Refusal) => {
  const error = problem.code === 'auth.missing' ? SEND_BASIC : problem.message;
  const headers = { 'x-signserver-error-message': error.replaceAll(NOT_IN_A_HEADER, '?') };
  return {
    status: problem.code === 'signing-key.unknown' ? 404 : status,
    body: { error },
    headers: status === 401 ? { ...headers, 'www-authenticate': 'Basic realm="sealwright"' } : headers,
  };
};
