import { Injectable } from '@nestjs/common';
import { Doorman } from '../platform/http/doorman.js';
import type { CalledRequest } from './access.js';
import { Credentials } from './credentials.js';
import { assertScope, type Scope } from './scopes.js';

/** Asks before a body is read what the access guard asks again when it is there. */
@Injectable()
export class BodyDoorman extends Doorman {
  constructor(private readonly credentials: Credentials) {
    super();
  }

  async admit(request: CalledRequest, scope: string): Promise<void> {
    request.caller = await this.credentials.callerOfRequest(request);
    assertScope(request.caller.scopes, scope as Scope);
  }
}
