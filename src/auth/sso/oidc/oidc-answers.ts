import { readJsonObject } from '../../../platform/json/strict-json.js';
/** A provider's response to openid-client. */
export interface ProviderAnswer {
  readonly status: number;
  readonly contentType: string | undefined;
  readonly body: string;
}

type Members = Record<string, unknown>;

/**
 * Returns an object without its null members, which some providers send instead of omitting them. openid-client rejects null as a value of the wrong
 * type.
 */
export function withoutNulls(members: Members): Members {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null));
}

/**
 * Normalizes the response of a token endpoint to RFC 6749 section 5.1: null members and an empty refresh token are removed, a list of scopes is joined, and a
 * missing `token_type` becomes Bearer. Only the ID token is evidence, and the ID token is verified as received.
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
 * Returns a signed userinfo response (OpenID Connect Core section 5.3.2) as JSON, after `verify` has returned its claims. If the call failed, rejects with the
 * HTTP status, which openid-client does not report.
 */
export async function userinfoAnswer(
  answer: ProviderAnswer,
  verify: (token: string) => Promise<object>,
): Promise<ProviderAnswer> {
  const { status, contentType = '', body } = answer;
  if (status !== 200) throw new Error(`the userinfo endpoint responded with ${status}`);
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
