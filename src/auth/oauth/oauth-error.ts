/** RFC 6749 section 5.2, RFC 8628 section 3.5, RFC 7009 section 2.2.1. */
export type OAuthErrorCode =
  | 'invalid_request'
  | 'invalid_client'
  | 'invalid_grant'
  | 'unauthorized_client'
  | 'unsupported_grant_type'
  | 'invalid_scope'
  | 'authorization_pending'
  | 'slow_down'
  | 'access_denied'
  | 'expired_token';

/** What the /oauth endpoints answer instead of a problem, because clients know this form. */
export class OAuthError extends Error {
  constructor(
    readonly code: OAuthErrorCode,
    /** Printable ASCII without quotes, as the RFC wants it. */
    message: string,
  ) {
    super(message);
    this.name = 'OAuthError';
  }

  get status(): number {
    return this.code === 'invalid_client' ? 401 : 400;
  }
}
