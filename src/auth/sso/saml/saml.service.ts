import { Injectable, Logger } from '@nestjs/common';
import { type Profile, type SamlConfig, SamlStatusError, ValidateInResponseTo } from '@node-saml/passport-saml';
import { randomBytes } from 'node:crypto';
import { Config } from '../../../platform/config/config.js';
import type { Origin } from '../../../platform/http/origin.js';
import { Problem } from '../../../platform/errors/problem.js';
import { newSecret } from '../../model/secret-text.js';
import type { Claims } from '../../../access/identity/verified-identity.js';
import type { IdentityProvider, SamlSettings } from '../../model/identity-provider.entity.js';
import { IdentityProvidersService } from '../providers/identity-providers.service.js';
import type { Redirect } from '../../credentials/callers/cookies.js';
import { returnPath, type SsoOrder, SsoTransactions } from '../sign-in/sso-transactions.js';
import { ourSamlAddresses, samlMetadataOf } from './saml-metadata.js';
import { usableCertificates } from '../providers/saml-certificates.js';
import type { SamlLogoutHint } from './saml-logout.js';
import {
  assertAddressedTo,
  assertUnderstood,
  attributesOf,
  authenticatedAt,
  contextsOf,
  identityOf,
  readSamlResponse,
  sessionEndOf,
  type SamlResponse,
  SKEW_MS,
  statusNames,
} from './saml-response.js';
import { assertNameFormat, assertQualifiers, PERSISTENT, withSeenFormat } from '../providers/saml-name-format.js';
import { profileIn, requestUrl } from './saml-strategy.js';
import type { Assertion } from '../sign-in/assertion.js';
import { SsoSignInService } from '../sign-in/sso-sign-in.service.js';
import type { SsoTransaction } from '../sign-in/sso.entity.js';

const MAX_ASSERTION_AGE_MS = 5 * 60_000;
/** A transient NameID changes with every sign-in, so it does not identify a person. */
const TRANSIENT = 'urn:oasis:names:tc:SAML:2.0:nameid-format:transient';

/**
 * SamlService implements a SAML 2.0 service provider. node-saml verifies the signature, the audience and the times. SamlService verifies that the response
 * answers a pending request, that each request is answered only once, and that the issuer, the recipient and the algorithms are as expected
 * (docs/decisions/0007).
 */
@Injectable()
export class SamlService {
  private readonly logger = new Logger(SamlService.name);

  constructor(
    private readonly config: Config,
    private readonly providers: IdentityProvidersService,
    private readonly transactions: SsoTransactions,
    private readonly signIn: SsoSignInService,
  ) {}

  /** Starts a sign-in. Returns the redirect to the provider. */
  async begin(order: SsoOrder): Promise<Redirect> {
    const returnTo = returnPath(order.returnTo, this.config.publicUrl);
    const provider = await this.providers.forSignIn('saml', order);
    const requestId = `_${randomBytes(20).toString('hex')}`;
    const browser = newSecret('session').text;
    const forBrowser = order.answer === 'cookie';
    await this.transactions.start({
      providerId: provider.id,
      key: requestId,
      browser,
      secrets: {},
      returnTo,
      forBrowser,
      sessionId: order.stepUp ?? null,
      testedBy: order.testedBy,
    });
    const url = await requestUrl(await this.configFor(provider, requestId, order.stepUp !== undefined));
    return { url, browser };
  }

  /** Handles the response, which arrives without the browser's cookie. @returns the URL to which to redirect the browser */
  async finish(encoded: string | undefined, origin: Origin): Promise<string> {
    const response = readSamlResponse(encoded);
    const { row } = await this.transactions.waiting(response.inResponseTo);
    const provider = await this.providers.ofAttempt(row);
    const verify = () => this.assertionOf(row, provider, response);
    return this.signIn.conclude({ row, provider, isBound: false, verify }, origin);
  }

  private async assertionOf(
    row: SsoTransaction,
    provider: IdentityProvider,
    response: SamlResponse,
  ): Promise<Assertion> {
    const profile = await this.profileOf(provider, response);
    const { nameIDFormat: nameFormat } = profile;
    // A test sign-in determines the NameID format if the format is not known yet.
    const settings = provider.settings as SamlSettings;
    if (row.status !== 'TESTING' || withSeenFormat(settings, nameFormat) === undefined)
      assertNameFormat(settings, nameFormat);
    assertQualifiers(profile, settings.entityId, ourSamlAddresses(this.config).entityId);
    return {
      transactionId: row.id,
      provider,
      subject: profile.nameID,
      claims: claimsOf(profile),
      methods: [],
      contexts: contextsOf(profile),
      externalSession: profile.sessionIndex ?? null,
      logoutHint: JSON.stringify(logoutHintOf(profile)),
      authenticatedAt: authenticatedAt(profile),
      sessionEnd: sessionEndOf(profile),
      nameFormat,
    };
  }

  /** Returns the metadata of this service for an identity provider. */
  async metadata(name: string | undefined): Promise<string> {
    const provider = await this.providers.published('saml', name);
    const {
      signRequests = false,
      ourCertificate: certificate,
      nameIdFormat = PERSISTENT,
    } = provider.settings as SamlSettings;
    return samlMetadataOf({ ...ourSamlAddresses(this.config), signsRequests: signRequests, certificate, nameIdFormat });
  }

  private async profileOf(provider: IdentityProvider, response: SamlResponse): Promise<Profile> {
    try {
      const { entityId } = provider.settings as SamlSettings;
      if (response.isEncrypted)
        throw new Error(
          'the assertion is encrypted, which is not supported; disable assertion encryption at the provider',
        );
      const profile = await profileIn(await this.configFor(provider, response.inResponseTo), response.encoded);
      assertAddressedTo(response, profile, { acsUrl: ourSamlAddresses(this.config).acsUrl, entityId });
      assertUnderstood(profile);
      const identity = identityOf(profile);
      if (identity.nameID.trim() === '' || identity.nameIDFormat.trim() === TRANSIENT)
        throw new Error('the NameID is transient or empty; configure the provider to send a persistent NameID');
      return { ...profile, ...identity };
    } catch (error) {
      this.logger.warn(
        `rejected the response of identity provider ${provider.name}: ${error instanceof Error ? error.message : 'unknown error'}`,
      );
      const refusal = error instanceof SamlStatusError ? statusNames(error.xmlStatus) : '';
      throw new Problem(
        'unauthenticated',
        'sso.refused',
        refusal === ''
          ? 'The response from the identity provider is invalid. Sign in again, or ask an administrator to test the provider.'
          : `The identity provider refused the sign-in: ${refusal}`,
        { cause: error },
      );
    }
  }

  private async configFor(provider: IdentityProvider, requestId: string, forceAuthn = false): Promise<SamlConfig> {
    const settings = provider.settings as SamlSettings;
    const idpCert = usableCertificates(settings.certificates);
    if (idpCert.length === 0) {
      const detail = 'This identity provider has no usable certificate. Ask an administrator to test the provider.';
      throw new Problem('unavailable', 'sso.provider-away', detail);
    }
    const us = ourSamlAddresses(this.config);
    const privateKey = settings.signRequests === true ? await this.providers.secretOf(provider) : undefined;
    return {
      issuer: us.entityId,
      audience: us.entityId,
      callbackUrl: us.acsUrl,
      ...(privateKey === undefined ? {} : { privateKey }),
      entryPoint: settings.entryPoint,
      forceAuthn,
      idpIssuer: settings.entityId,
      idpCert,
      ...requestOptionsOf(settings),
      // Either the response or the assertion must be signed: node-saml only reads signed content.
      wantAssertionsSigned: false,
      wantAuthnResponseSigned: false,
      signatureAlgorithm: 'sha256',
      digestAlgorithm: 'sha256',
      maxAssertionAgeMs: MAX_ASSERTION_AGE_MS,
      acceptedClockSkewMs: SKEW_MS,
      validateInResponseTo: ValidateInResponseTo.always,
      generateUniqueId: () => requestId,
      // The row of the attempt replaces the request cache, because the row is consumed by compare-and-set, which this interface does not support.
      cacheProvider: {
        saveAsync: (_key, value) => Promise.resolve({ value, createdAt: Date.now() }),
        getAsync: (key) => Promise.resolve(key === requestId ? new Date().toISOString() : null),
        removeAsync: () => Promise.resolve(null),
      },
    };
  }
}

/** Returns the NameIDPolicy and RequestedAuthnContext of a request (SAML core sections 3.4.1.1 and 3.3.2.2.1). */
function requestOptionsOf({ nameIdFormat, requestedAuthnContext }: SamlSettings): Partial<SamlConfig> {
  const identifierFormat = nameIdFormat === undefined ? PERSISTENT : nameIdFormat;
  if (requestedAuthnContext == null) return { identifierFormat, disableRequestedAuthnContext: true };
  const { classes, comparison } = requestedAuthnContext;
  return { identifierFormat, authnContext: [...classes], racComparison: comparison };
}

function logoutHintOf(profile: Profile): SamlLogoutHint {
  const { nameID: name, nameIDFormat: format, nameQualifier: qualifier, spNameQualifier: spQualifier } = profile;
  return { who: { name, format, qualifier, spQualifier }, sessionIndex: profile.sessionIndex ?? null };
}

function claimsOf(profile: Profile): Claims {
  return { ...attributesOf(profile), nameID: profile.nameID };
}
