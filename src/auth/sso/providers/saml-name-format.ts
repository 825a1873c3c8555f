import { Problem } from '../../../platform/errors/problem.js';
import type { SamlSettings } from '../../model/identity-provider.entity.js';

/** The format that is requested unless nameIdFormat is set. */
export const PERSISTENT = 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent';
/** The format of a NameID without one (SAML core section 2.2.2). */
const UNSPECIFIED = 'urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified';

/**
 * assertNameFormat refuses a NameID of another format than the one that is requested. A request passes through the browser, so a person can ask for
 * another format: the same text may name somebody else then, and one person may get several accounts. With `nameIdFormat: null` nothing is requested, and
 * the format of the first sign-in is expected.
 *
 * @param format Format of the signed NameID; '' where it is absent
 * @throws Problem `sso.name-format`
 */
export function assertNameFormat({ nameIdFormat = PERSISTENT, seenNameIdFormat }: SamlSettings, format: string): void {
  const expected = nameIdFormat ?? seenNameIdFormat;
  const sent = format || UNSPECIFIED;
  if (expected === undefined || (expected || UNSPECIFIED) === sent) return;
  const detail =
    `The identity provider sent a NameID of the format "${sent.slice(0, 200)}", and "${expected}" is required. ` +
    'Have the provider send the required format to everybody, or set "nameIdFormat" of the provider to the format that it sends to everybody.';
  throw new Problem('forbidden', 'sso.name-format', detail);
}

/** The settings with the format of the first sign-in; undefined unless `nameIdFormat` is null and no format is known. */
export function withSeenFormat(settings: SamlSettings, format: string): SamlSettings | undefined {
  if (settings.nameIdFormat !== null || settings.seenNameIdFormat !== undefined) return undefined;
  return { ...settings, seenNameIdFormat: format };
}
