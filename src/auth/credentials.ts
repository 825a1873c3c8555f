import { Injectable } from '@nestjs/common';
import type { Origin } from '../platform/http/origin.js';
import { Problem } from '../platform/http/problem.js';
import { ApiKeysService } from './api-keys/api-keys.service.js';
import type { Caller } from './caller.js';
import { AccessTokens } from './tokens/access-tokens.js';

/** Turns an Authorization header into a caller. New kinds of credential are added here and nowhere else. */
@Injectable()
export class Credentials {
  constructor(
    private readonly apiKeys: ApiKeysService,
    private readonly tokens: AccessTokens,
  ) {}

  /** RFC 6750 section 2.1. What the credential looks like decides who looks at it. */
  async callerOf(header: string | undefined, origin: Origin): Promise<Caller> {
    const [scheme, credential, ...rest] = (header ?? '').split(' ');
    if (credential === undefined || scheme?.toLowerCase() !== 'bearer' || rest.length > 0) {
      throw new Problem('unauthenticated', 'auth.missing', 'Send "Authorization: Bearer <API key or access token>".');
    }
    if (credential.startsWith('sw_')) return this.apiKeys.authenticate(credential, origin);
    return this.tokens.authenticate(credential, origin);
  }
}
