import { readJsonObject } from '../../../platform/json/strict-json.js';
/** An answer of a provider to openid-client. */
export interface ProviderAnswer {
  readonly status: number;
  readonly contentType: string | undefined;
  readonly body: string;
}

type Members = Record<string, unknown>;

/**
 * The members of an object without those that are null, which generators write that have no way to leave one out: openid-client takes null for a
 * value of the wrong type, and so does whoever lists what a provider supports.
 */
export function withoutNulls(members: Members): Members {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null));
}

/**
 * The answer of a token endpoint as RFC 6749 section 5.1 has it: nulls and an empty refresh token say that there is none, a list of scopes is
 * the text of them, and what has no `token_type` is the type that everybody has. Only the ID token is evidence; it is verified as it came.
 */
export function tokenAnswer(answer: ProviderAnswer): ProviderAnswer {
  const given = membersIn(answer.body);
  if (given === undefined) return answer;
  const { refresh_token: refresh, scope, ...others } = withoutNulls(given);
  const isText = Array.isArray(scope) && scope.every((one) => typeof one === 'string');
  const tokens = {
    ...(answer.status === 200 ? { token_type: 'Bearer' } : {}),
    ...others,
    ...(refresh === undefined || refresh === '' ? {} : { refresh_token: refresh }),
    ...(scope === undefined ? {} : { scope: isText ? scope.join(' ') : scope }),
  };
  return { ...answer, body: JSON.stringify(tokens) };
}

/**
 * The answer of a userinfo endpoint as JSON where the provider signs it (OpenID Connect core section 5.3.2), once `verify` has found the claims.
 * Rejects with the status where there is no such answer: openid-client does not tell it.
 */
export async function userinfoAnswer(
  answer: ProviderAnswer,
  verify: (token: string) => Promise<object>,
): Promise<ProviderAnswer> {
  const { status, contentType = '', body } = answer;
  if (status !== 200) throw new Error(`its userinfo endpoint answers ${status}`);
  if (!/^application\/jwt\b/i.test(contentType)) return answer;
  return { status, contentType: 'application/json', body: JSON.stringify(await verify(body.trim())) };
}

function membersIn(body: string): Members | undefined {
  try {
    return readJsonObject(body, { roundsNumbers: true });
  } catch {
    return undefined;
  }
}
