import { Injectable } from '@nestjs/common';
import { UploadAuthorizer } from '../../platform/http/bodies/raw-body.js';
import type { CalledRequest } from '../../access/access.js';
import { Credentials } from './credentials.js';
import { assertScope, type Scope } from '../../access/scopes.js';

/** Asks before a body is read what the access guard asks again when it is there. */
@Injectable()
export class CredentialUploadAuthorizer extends UploadAuthorizer {
  constructor(private readonly credentials: Credentials) {
    super();
  }

  async authorize(request: CalledRequest, scope: string): Promise<void> {
    request.caller = await this.credentials.callerOfRequest(request);
    assertScope(request.caller.scopes, scope as Scope);
  }
}
