import { Injectable } from '@nestjs/common';
import type { Caller } from '../../../access/caller.js';
import type { Redirect } from '../../credentials/callers/cookies.js';
import { OidcService } from '../oidc/oidc.service.js';
import { IdentityProviderChanges } from '../providers/identity-provider-changes.service.js';
import { IdentityProvidersService } from '../providers/identity-providers.service.js';
import { SamlService } from '../saml/saml.service.js';
import type { SignInTrial } from '../sign-in/sign-in-trial.js';
import { SsoTransactions } from '../sign-in/sso-transactions.js';

/**
 * SsoTests runs test sign-ins, which show what a sign-in would do. Test sign-ins change only the recorded NameID format of a provider whose `nameIdFormat` is
 * null.
 */
@Injectable()
export class SsoTests {
  constructor(
    private readonly providers: IdentityProvidersService,
    private readonly transactions: SsoTransactions,
    private readonly oidc: OidcService,
    private readonly saml: SamlService,
    private readonly changes: IdentityProviderChanges,
  ) {}

  async begin(caller: Caller, name: string, returnTo: string | undefined): Promise<Redirect> {
    const { kind, name: provider } = await this.providers.named(name);
    const order = { provider, returnTo, testedBy: caller.ownerId };
    return kind === 'oidc' ? this.oidc.begin(order) : this.saml.begin(order);
  }

  async resultOf(caller: Caller, ticket: string, browser: string | undefined): Promise<SignInTrial> {
    const trial = (await this.transactions.redeemTest(ticket, browser, caller.ownerId)) as SignInTrial;
    if (trial.named !== undefined) await this.changes.keepNameFormat(caller, trial.named);
    return trial;
  }
}
