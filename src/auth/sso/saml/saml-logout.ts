import { Injectable, Logger } from '@nestjs/common';
import { randomBytes } from 'node:crypto';
import { Config } from '../../../platform/config/config.js';
import type { Origin } from '../../../platform/http/origin.js';
import { Problem } from '../../../platform/errors/problem.js';
import type { IdentityProvider, SamlSettings } from '../../model/identity-provider.entity.js';
import { IdentityProvidersService } from '../providers/identity-providers.service.js';
import { ProviderLogouts } from '../sign-in/provider-logouts.js';
import { ourSamlAddresses } from './saml-metadata.js';
import { type ArrivedMessage, issuerSaidBy, type LogoutMessage, verifiedMessage } from './saml-logout-message.js';
import { SamlMessageMarks } from './saml-message-marks.js';
import { isSameAddress } from './saml-response.js';
import { logoutRequest, logoutResponse, type NameId, signedRedirect } from './saml-messages.js';

const MAX_AGE_MS = 5 * 60_000;
const SKEW_MS = 60_000;

/** SamlLogoutHint is stored at sign-in, for a logout at the provider. */
export interface SamlLogoutHint {
  readonly who: NameId;
  readonly sessionIndex: string | null;
}

/**
 * SamlLogout implements SAML 2.0 single logout (profiles section 4.4): it returns the provider's logout URL after a sign-out from this service, and ends
 * sessions after a logout at the provider.
 */
@Injectable()
export class SamlLogout {
  private readonly logger = new Logger(SamlLogout.name);

  constructor(
    private readonly config: Config,
    private readonly providers: IdentityProvidersService,
    private readonly logouts: ProviderLogouts,
    private readonly marks: SamlMessageMarks,
  ) {}

  /** Returns the provider's logout URL with a signed LogoutRequest, for the browser; undefined if the provider has no logout URL. */
  async redirectTo(provider: IdentityProvider, hint: string): Promise<string | undefined> {
    const { logoutUrl } = provider.settings as SamlSettings;
    const privateKey = await this.providers.secretOf(provider);
    if (typeof logoutUrl !== 'string' || privateKey === undefined) return undefined;
    const { who, sessionIndex } = JSON.parse(hint) as SamlLogoutHint;
    const envelope = this.envelopeTo(logoutUrl);
    await this.marks.sent(provider.id, envelope.id);
    return signedRedirect(logoutUrl, 'SAMLRequest', { xml: logoutRequest(envelope, who, sessionIndex), privateKey });
  }

  /** Handles a logout message from a provider. @returns the URL to which to redirect the browser */
  async take(arrived: ArrivedMessage | undefined, origin: Origin): Promise<string> {
    try {
      if (arrived === undefined) throw new Error('the message cannot be parsed');
      const { providers, message } = await this.verified(arrived);
      if (arrived.kind === 'LogoutResponse') return await this.answered(providers, message);
      for (const provider of providers) await this.end(provider, message, origin);
      return await this.answerTo(providers, message, arrived.relayState);
    } catch (error) {
      this.logger.warn(`rejected a SAML logout message: ${error instanceof Error ? error.message : 'unknown error'}`);
      throw new Problem('malformed', 'sso.logout-message', 'The logout message from the identity provider is invalid.');
    }
  }

  /** Returns the verified message, and the providers with its entity ID whose certificates verify its signature. */
  private async verified(arrived: ArrivedMessage): Promise<{ providers: IdentityProvider[]; message: LogoutMessage }> {
    const all = await this.providers.enabledWithEntityId(issuerSaidBy(arrived));
    const read = await Promise.allSettled(
      all.map(async ({ settings }) => verifiedMessage(arrived, (settings as SamlSettings).certificates)),
    );
    const providers = all.filter((_, index) => read[index]?.status === 'fulfilled');
    const message = read.find((one) => one.status === 'fulfilled')?.value;
    const [first] = read;
    const [provider] = providers;
    if (message === undefined || provider === undefined)
      throw first?.status === 'rejected' ? first.reason : new Error('no identity provider has this entity ID');
    const { entityId } = provider.settings as SamlSettings;
    const { logoutUrl } = ourSamlAddresses(this.config);
    if (message.issuer !== entityId) throw new Error('the Issuer differs from the entity ID of the provider');
    if (!isSameAddress(message.destination, logoutUrl))
      throw new Error('the Destination is not the logout URL of this service');
    if (message.id === '' || !isOfNow(message)) throw new Error('the message has expired or has no ID');
    return { providers, message };
  }

  /** Ends the sessions that a logout request names. Each request is accepted once. */
  private async end(provider: IdentityProvider, message: LogoutMessage, origin: Origin): Promise<void> {
    if (message.nameId === '') throw new Error('the NameID is missing');
    if (!(await this.marks.isFirst(provider.id, message.id))) throw new Error('the message has already been used');
    const sessions = message.sessions.length === 0 ? undefined : message.sessions;
    const before = new Date(message.issuedAt + SKEW_MS);
    await this.logouts.end(provider, { subject: message.nameId, sessions, before }, origin);
  }

  private async answerTo(
    providers: readonly IdentityProvider[],
    { id }: LogoutMessage,
    relayState: string | undefined,
  ): Promise<string> {
    const provider = providers.find(({ settings }) => typeof (settings as SamlSettings).logoutUrl === 'string');
    if (provider === undefined) return '/';
    const { logoutUrl } = provider.settings as SamlSettings;
    const privateKey = await this.providers.secretOf(provider);
    if (typeof logoutUrl !== 'string' || privateKey === undefined) return '/';
    const xml = logoutResponse(this.envelopeTo(logoutUrl), id);
    return signedRedirect(logoutUrl, 'SAMLResponse', { xml, relayState, privateKey });
  }

  private async answered(
    providers: readonly IdentityProvider[],
    { inResponseTo, isComplete }: LogoutMessage,
  ): Promise<string> {
    let isAnswer = false;
    for (const { id } of providers) isAnswer ||= await this.marks.isAnswer(id, inResponseTo);
    if (!isAnswer) throw new Error('InResponseTo does not match a pending request');
    if (isComplete) return '/';
    const problem = new Problem('conflict', 'sso.still-signed-in', 'You are still signed in to other services.');
    return `/#error=${problem.code}`;
  }

  private envelopeTo(destination: string) {
    return { id: `_${randomBytes(20).toString('hex')}`, issuer: ourSamlAddresses(this.config).entityId, destination };
  }
}

/** Reports whether the message is recent and has not expired. Returns false for an invalid time. */
function isOfNow({ issuedAt, notOnOrAfter }: LogoutMessage): boolean {
  const now = Date.now();
  const isFresh = issuedAt > now - MAX_AGE_MS - SKEW_MS && issuedAt < now + SKEW_MS;
  return isFresh && (notOnOrAfter === undefined || notOnOrAfter > now - SKEW_MS);
}
