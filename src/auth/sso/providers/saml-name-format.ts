import type { SamlSettings } from '../../model/identity-provider.entity.js';

/**
 * assertNameFormat refuses a NameID of another format than the configured one, or than the one that the provider sent at the first sign-in. A request
 * passes through the browser, so a person can ask for another format: the same text may name somebody else then, and one person may get several accounts.
 *
 * @param format Format of the signed NameID; '' where it is absent
 */
export function assertNameFormat({ nameIdFormat, seenNameIdFormat }: SamlSettings, format: string): void {
  const expected = typeof nameIdFormat === 'string' ? nameIdFormat : seenNameIdFormat;
  if (expected === undefined || expected === format) return;
  throw new Error(
    `the format of the NameID is "${format}", not "${expected}"; have the provider send that one, or set nameIdFormat to the one that it sends to everybody`,
  );
}

/** The settings with the format of the first sign-in; undefined where the format is known already. */
export function withSeenFormat(settings: SamlSettings, format: string): SamlSettings | undefined {
  if (typeof settings.nameIdFormat === 'string' || settings.seenNameIdFormat !== undefined) return undefined;
  return { ...settings, seenNameIdFormat: format };
}
