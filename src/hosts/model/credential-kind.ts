/** What a host is logged in to with. */
export const CREDENTIAL_KINDS = ['private-key', 'password'] as const;
export type HostCredentialKind = (typeof CREDENTIAL_KINDS)[number];
