import { Injectable, Logger } from '@nestjs/common';
import {
  type AuthenticationResponseJSON,
  generateAuthenticationOptions,
  generateRegistrationOptions,
  type PublicKeyCredentialCreationOptionsJSON,
  type PublicKeyCredentialRequestOptionsJSON,
  type RegistrationResponseJSON,
  verifyAuthenticationResponse,
  verifyRegistrationResponse,
} from '@simplewebauthn/server';
import { DataSource } from 'typeorm';
import { Config } from '../../../platform/config/config.js';
import { newId } from '../../../platform/database/new-id.js';
import { Problem } from '../../../platform/errors/problem.js';
import type { Caller } from '../../../access/caller.js';
import { SecondFactor, PasskeyChallenge } from './second-factor.entity.js';
import { SecondFactorsService } from './second-factors.service.js';
import { secretHashOf } from '../../model/secret-text.js';

/** PasskeyChallenges stores WebAuthn challenges that are waiting for a response. */
@Injectable()
export class PasskeyChallenges {
  constructor(private readonly db: DataSource) {}

  async sent(userId: string, purpose: PasskeyChallenge['purpose'], challenge: string): Promise<void> {
    await this.db.query(`DELETE FROM passkey_challenge WHERE expires_at < now()`);
    await this.db.manager.insert(PasskeyChallenge, {
      hash: secretHashOf(challenge),
      userId,
      purpose,
      expiresAt: () => `now() + interval '5 minutes'`,
    });
  }

  /** Consumes a challenge. For concurrent responses, only one call returns true. */
  async take(userId: string, purpose: PasskeyChallenge['purpose'], challenge: string): Promise<boolean> {
    const [taken]: [unknown[], number] = await this.db.query(
      `DELETE FROM passkey_challenge WHERE hash = $1 AND user_id = $2 AND purpose = $3 AND expires_at > now() RETURNING hash`,
      [secretHashOf(challenge), userId, purpose],
    );
    return taken.length === 1;
  }
}

/** User verification requirement. The passkey is the second factor after the password, so user presence is sufficient. */
const VERIFICATION = 'preferred';

/** PasskeysService manages passkeys and security keys as second factors (WebAuthn Level 3). Each signature is bound to the site and to one challenge. */
@Injectable()
export class PasskeysService {
  private readonly logger = new Logger(PasskeysService.name);
  private readonly site: string;
  private readonly origins: string[];

  constructor(
    private readonly db: DataSource,
    config: Config,
    private readonly challenges: PasskeyChallenges,
    private readonly factors: SecondFactorsService,
  ) {
    const { hostname, origin } = new URL(config.publicUrl);
    this.site = hostname;
    this.origins = config.isProd ? [origin] : [origin, ...config.corsOrigins];
  }

  /** Returns options for the browser to create a passkey for this site. */
  async begin(caller: Caller): Promise<PublicKeyCredentialCreationOptionsJSON> {
    const known = await this.factors.assertBelowLimit(caller.id);
    const options = await generateRegistrationOptions({
      rpName: 'Sealwright',
      rpID: this.site,
      userName: caller.name,
      userID: new Uint8Array(Buffer.from(caller.id)),
      attestationType: 'none',
      excludeCredentials: known.filter(isPasskey).map(descriptorOf),
      authenticatorSelection: { residentKey: 'discouraged', userVerification: VERIFICATION },
    });
    await this.challenges.sent(caller.id, 'registration', options.challenge);
    return options;
  }

  /** Verifies and adds a new passkey. @returns recovery codes if the passkey is the first factor; otherwise an empty list */
  async confirm(caller: Caller, name: string, response: RegistrationResponseJSON): Promise<string[]> {
    const { registrationInfo } = await this.attempt(() =>
      verifyRegistrationResponse({
        response,
        expectedChallenge: (challenge) => this.challenges.take(caller.id, 'registration', challenge),
        expectedOrigin: this.origins,
        expectedRPID: this.site,
        requireUserVerification: false,
      }),
    );
    if (registrationInfo === undefined) {
      throw new Problem(
        'refused',
        'second-factor.wrong-code',
        'The response from the authenticator is invalid or has expired. Start the registration again.',
      );
    }
    const { id, publicKey, counter, transports } = registrationInfo.credential;
    return this.factors.add(caller, {
      id: newId(),
      kind: 'passkey',
      userId: caller.id,
      name,
      credentialId: Buffer.from(id, 'base64url'),
      publicKey: Buffer.from(publicKey),
      transports: transports ?? [],
      lastStep: String(counter),
      confirmedAt: new Date(),
    });
  }

  /** Returns options for the browser to request an assertion from one of the person's passkeys. */
  async ask(userId: string): Promise<PublicKeyCredentialRequestOptionsJSON> {
    const known = (await this.factors.listOf(userId)).filter(isPasskey);
    if (known.length === 0)
      throw new Problem('refused', 'second-factor.no-passkey', 'You have no passkey. Use another second factor.');
    const allowCredentials = known.map(descriptorOf);
    const options = await generateAuthenticationOptions({
      rpID: this.site,
      allowCredentials,
      userVerification: VERIFICATION,
    });
    await this.challenges.sent(userId, 'sign-in', options.challenge);
    return options;
  }

  /** Reports whether a passkey among a person's factors has signed an unused challenge of the service. */
  async isAnswerOf(
    userId: string,
    factors: readonly SecondFactor[],
    response: AuthenticationResponseJSON,
  ): Promise<boolean> {
    const known = factors.filter(isPasskey);
    const factor = known.find(({ credentialId }) => credentialId.toString('base64url') === response.id);
    if (factor === undefined) return false;
    const { verified, authenticationInfo } = await this.attempt(() =>
      verifyAuthenticationResponse({
        response,
        expectedChallenge: (challenge) => this.challenges.take(userId, 'sign-in', challenge),
        expectedOrigin: this.origins,
        expectedRPID: this.site,
        credential: {
          ...descriptorOf(factor),
          publicKey: new Uint8Array(factor.publicKey),
          counter: Number(factor.lastStep),
        },
        requireUserVerification: false,
      }),
    );
    return verified === true && this.counted(factor.id, authenticationInfo?.newCounter ?? 0);
  }

  /**
   * Stores the signature counter. Returns false if the counter did not increase, which indicates a cloned authenticator (WebAuthn section 6.1.1).
   * Authenticators without a counter always send 0.
   */
  private async counted(id: string, counter: number): Promise<boolean> {
    const [taken]: [unknown[], number] = await this.db.query(
      `UPDATE second_factor SET last_step = $2, last_used_at = now()
       WHERE id = $1 AND (last_step < $2 OR (last_step = 0 AND $2 = 0)) RETURNING id`,
      [id, counter],
    );
    return taken.length === 1;
  }

  /** Returns the result of a verification, or an empty object if the library throws. The reason is only written to the service log. */
  private async attempt<T extends object>(verify: () => Promise<T>): Promise<Partial<T>> {
    try {
      return await verify();
    } catch (error) {
      this.logger.warn(`rejected a passkey response: ${error instanceof Error ? error.message : 'unknown error'}`);
      return {};
    }
  }
}

type Passkey = SecondFactor & { credentialId: Buffer; publicKey: Buffer };

function isPasskey(factor: SecondFactor): factor is Passkey {
  return factor.kind === 'passkey' && factor.credentialId !== null && factor.publicKey !== null;
}

function descriptorOf({ credentialId, transports }: Passkey) {
  return { id: credentialId.toString('base64url'), transports };
}
