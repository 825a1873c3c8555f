import { parseJsonBody } from '../../platform/http/bodies/json-body.js';
import type { RawBody } from '../../platform/http/bodies/raw-body.js';
import { OAuthError } from './oauth-error.js';

export const FORM = 'application/x-www-form-urlencoded';

/**
 * Parameters of an /oauth request, sent as a form or as a JSON object of strings. Each parameter may occur at most once, and empty parameters count as omitted
 * (RFC 6749 section 3.2). White space around a value is removed, because tokens and secrets are often read from files that end with a line break.
 */
export class OAuthParameters {
  private constructor(private readonly values: ReadonlyMap<string, string>) {}

  static read({ bytes, mediaType }: RawBody): OAuthParameters {
    if (bytes.length === 0) throw new OAuthError('invalid_request', 'The request body is missing.');
    return new OAuthParameters(mediaType === FORM ? ofForm(bytes.toString('utf8')) : ofJson(bytes));
  }

  /** Returns the value of a parameter; undefined if the parameter is omitted or empty. */
  get(name: string): string | undefined {
    return this.values.get(name);
  }

  require(name: string): string {
    const value = this.values.get(name);
    if (value === undefined) throw new OAuthError('invalid_request', `The ${name} parameter is missing.`);
    return value;
  }
}

function ofForm(text: string): Map<string, string> {
  const values = new Map<string, string>();
  const seen = new Set<string>();
  for (const [name, value] of new URLSearchParams(text)) {
    if (seen.has(name)) throw duplicate();
    seen.add(name);
    if (value.trim() !== '') values.set(name, value.trim());
  }
  return values;
}

/** Reads parameters from a JSON object. `parseJsonBody` rejects duplicate members. */
function ofJson(body: Buffer): Map<string, string> {
  const parsed = parsedJson(body);
  const isFlat = typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed);
  const entries = isFlat ? Object.entries(parsed) : [];
  if (!isFlat || entries.some(([, value]) => typeof value !== 'string')) {
    throw new OAuthError('invalid_request', 'The body must be a JSON object whose values are strings.');
  }
  const trimmed = (entries as [string, string][]).map(([name, value]) => [name, value.trim()] as const);
  return new Map(trimmed.filter(([, value]) => value !== ''));
}

function parsedJson(body: Buffer): unknown {
  try {
    return parseJsonBody(body);
  } catch {
    throw new OAuthError('invalid_request', 'The body is not valid JSON.');
  }
}

function duplicate(): OAuthError {
  return new OAuthError('invalid_request', 'A parameter must not be repeated.');
}
