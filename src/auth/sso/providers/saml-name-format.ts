import { Problem } from '../../../platform/errors/problem.js';
import { truncate } from '../../../platform/text/truncate.js';
import type { SamlSettings } from '../../model/identity-provider.entity.js';

/** PERSISTENT is the NameID format that is requested unless nameIdFormat is set. */
export const PERSISTENT = 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent';
const UNTESTED =
  'The NameID format of the identity provider is not known yet. An administrator must run a test sign-in, or set "nameIdFormat" to the format that the provider sends for all users.';
/** UNSPECIFIED is the format of a NameID without a Format attribute (SAML core section 2.2.2). */
const UNSPECIFIED = 'urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified';

/**
 * assertNameFormat rejects a NameID whose format differs from the requested format. The request passes through the browser, so a user could request
 * another format, in which the same string may identify another user, or one user may get several accounts. With `nameIdFormat: null` no format is
 * requested, and the format of an administrator's test sign-in is required: the first person who signs in must not choose the format for everyone else.
 *
 * @param format Format of the signed NameID; '' if absent
 * @throws Problem `sso.name-format`
 */
export function assertNameFormat({ nameIdFormat = PERSISTENT, seenNameIdFormat }: SamlSettings, format: string): void {
  const expected = nameIdFormat ?? seenNameIdFormat;
  const sent = format || UNSPECIFIED;
  if (expected === undefined) throw new Problem('forbidden', 'sso.name-format', UNTESTED);
  if ((expected || UNSPECIFIED) === sent) return;
  const detail =
    `The identity provider sent a NameID with the format "${truncate(sent, 200)}", but "${expected || UNSPECIFIED}" is required. ` +
    'Configure the provider to send the required format for all users, or set "nameIdFormat" to the format that it sends for all users.';
  throw new Problem('forbidden', 'sso.name-format', detail);
}

/**
 * assertQualifiers rejects a NameID whose qualifiers name another provider or another service. Such a NameID is unique only together with its
 * qualifiers (SAML core section 8.3.7): a proxy for several providers may use one NameID for two people.
 *
 * @throws Problem `sso.name-format`
 */
export function assertQualifiers(
  {
    nameQualifier: from,
    spNameQualifier: to,
  }: { nameQualifier?: string | undefined; spNameQualifier?: string | undefined },
  provider: string,
  ours: string,
): void {
  if ((from || provider) === provider && (to || ours) === ours) return;
  const [name, sent = '', expected] =
    (from || provider) === provider ? ['SPNameQualifier', to, ours] : ['NameQualifier', from, provider];
  const detail = `The identity provider sent a NameID with the ${name} "${truncate(sent, 200)}". Configure the provider to omit the ${name}, or to send "${expected}".`;
  throw new Problem('forbidden', 'sso.name-format', detail);
}

/**
 * withSeenFormat returns the settings with the format of a test sign-in; undefined unless `nameIdFormat` is null and no format is recorded yet.
 */
export function withSeenFormat(settings: SamlSettings, format: string): SamlSettings | undefined {
  if (settings.nameIdFormat !== null || settings.seenNameIdFormat !== undefined) return undefined;
  return { ...settings, seenNameIdFormat: format };
}

/** TestedNameFormat is the NameID format that a provider sent in a test sign-in. */
export interface TestedNameFormat {
  readonly providerId: string;
  /** Version of the provider's settings during the test. */
  readonly version: number;
  readonly format: string;
}
