/**
 * What a signing key is for, from its birth on. Only a key for `signing` signs what callers send: a digest that a caller
 * chooses, signed with the key of a timestamp authority or of a certificate authority, would be a forged timestamp or certificate.
 */
export const KEY_PURPOSES = ['signing', 'timestamping', 'certificates'] as const;
export type KeyPurpose = (typeof KEY_PURPOSES)[number];
