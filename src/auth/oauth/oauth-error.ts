import { type ArgumentsHost, Catch, type ExceptionFilter, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Problem } from '../../platform/errors/problem.js';
import {
  type ForeignAnswer,
  ProblemFilter,
  type Refusal,
  Refusals,
  useErrorShape,
} from '../../platform/http/server/problem.filter.js';

/** Error codes of RFC 6749 section 5.2, RFC 8628 section 3.5, RFC 7009 section 2.2.1 and RFC 9449 section 5. */
export type OAuthErrorCode =
  | 'invalid_request'
  | 'invalid_client'
  | 'invalid_grant'
  | 'unauthorized_client'
  | 'unsupported_grant_type'
  | 'invalid_scope'
  | 'invalid_dpop_proof'
  | 'authorization_pending'
  | 'slow_down'
  | 'access_denied'
  | 'expired_token';

/** An error of the /oauth endpoints, which is returned to OAuth clients instead of a problem. */
export class OAuthError extends Error {
  constructor(
    readonly code: OAuthErrorCode,
    /** Printable ASCII without quotes (RFC 6749 section 5.2). */
    message: string,
  ) {
    super(message);
    this.name = 'OAuthError';
  }

  get status(): number {
    return this.code === 'invalid_client' ? 401 : 400;
  }
}

/** Returns the same error for an unknown or revoked client, a wrong secret, and a method other than the client's registered method. */
export function unknownClient(): OAuthError {
  return new OAuthError('invalid_client', 'Client authentication failed. Check the client ID and the credential.');
}

/** Errors of the device flow that are not refusals and therefore not audited. */
const NO_EVENT = new Set(['authorization_pending', 'slow_down']);

/** OAuthErrorFilter returns errors of the /oauth endpoints as RFC 6749 section 5.2 defines, and audits refusals. */
@Catch(OAuthError)
@Injectable()
export class OAuthErrorFilter implements ExceptionFilter<OAuthError> {
  constructor(
    private readonly refusals: Refusals,
    private readonly problems: ProblemFilter,
  ) {
    useErrorShape('/oauth/', oauthAnswer);
  }

  async catch(error: OAuthError, host: ArgumentsHost): Promise<void> {
    const request = host.switchToHttp().getRequest<FastifyRequest>();
    const reply = host.switchToHttp().getResponse<FastifyReply>();
    try {
      if (!NO_EVENT.has(error.code)) await this.refusals.record(request, asProblem(error));
    } catch (cause) {
      await this.problems.catch(cause, host);
      return;
    }
    if (error.status === 401) void reply.header('www-authenticate', 'Basic realm="sealwright"');
    void reply
      .status(error.status)
      .header('content-type', 'application/json; charset=utf-8')
      .header('pragma', 'no-cache')
      .send({ error: error.code, error_description: error.message });
  }
}

/** Characters that are not allowed in an error_description (RFC 6749 section 5.2). */
const UNPRINTABLE = /[^\x20\x21\x23-\x5b\x5d-\x7e]/g;
/** HTTP statuses of malformed requests, for which RFC 6749 section 5.2 prescribes the status 400. */
const MALFORMED = new Set([400, 415, 422]);

/** oauthAnswer returns the OAuth error for a refusal that never reaches a handler, such as an unreadable body. */
function oauthAnswer({ status, problem }: Refusal): ForeignAnswer | undefined {
  if (status === 404) return undefined;
  const isTemporary = status === 429 || status === 503;
  return {
    status: MALFORMED.has(status) ? 400 : status,
    headers: { pragma: 'no-cache' },
    body: {
      error: isTemporary ? 'temporarily_unavailable' : status >= 500 ? 'server_error' : 'invalid_request',
      error_description: problem.message.replaceAll(UNPRINTABLE, "'"),
    },
  };
}

/** Returns the error as a Problem for the audit log, with the OAuth error code as pointer. */
function asProblem({ code, status, message }: OAuthError): Problem {
  const errors = [{ pointer: code, detail: message }];
  if (status === 401) return new Problem('unauthenticated', 'oauth.client', message, { errors });
  return new Problem('malformed', 'oauth.refused', message, { errors });
}
