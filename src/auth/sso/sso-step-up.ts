import { Injectable } from '@nestjs/common';
import { Problem } from '../../platform/errors/problem.js';
import type { Caller } from '../../access/caller.js';
import { SessionsService } from '../sessions/sessions.service.js';
import { IdentityProvidersService } from './identity-providers.service.js';
import { OidcService } from './oidc.service.js';
import { SamlService } from './saml.service.js';
import type { Redirect, SsoOrder } from './sso-order.js';

/** Step-up of people who have no password here: their provider asks them again, and says when it did. */
@Injectable()
export class SsoStepUp {
  constructor(
    private readonly sessions: SessionsService,
    private readonly providers: IdentityProvidersService,
    private readonly oidc: OidcService,
    private readonly saml: SamlService,
  ) {}

  /** Where to lead the browser. */
  async begin(caller: Caller, returnTo: string | undefined): Promise<Redirect> {
    const external = await this.sessions.externalOf(caller);
    if (external === undefined) {
      throw new Problem(
        'refused',
        'sso.no-provider',
        'You did not come by an identity provider: POST /api/auth/step-up.',
      );
    }
    const { kind, name: provider } = await this.providers.enabledById(external.providerId);
    const order: SsoOrder = { provider, returnTo, answer: 'cookie', stepUp: caller.session?.id };
    return kind === 'oidc' ? this.oidc.begin(order) : this.saml.begin(order);
  }
}
