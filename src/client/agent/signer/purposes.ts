/** What a signature is for, as the service knows it (`purpose` of a key and of a request). */
export const AGENT_PURPOSES = [
  'code-signing',
  'documents',
  'openpgp',
  'ssh-login',
  'ssh-signatures',
  'tls-client',
] as const;
export type AgentPurpose = (typeof AGENT_PURPOSES)[number];

/**
 * The protocols by which programs on this machine ask for signatures, with the purposes that each can serve. PKCS #11 gets a digest and
 * nothing else, so it serves what is a digest by nature, and logins by programs that know no other way. SSH signatures and OpenPGP are
 * messages that can be read: only the protocols that read them sign them.
 */
const SERVED = {
  pkcs11: ['code-signing', 'documents', 'tls-client', 'ssh-login'],
  'ssh-agent': ['ssh-login', 'ssh-signatures'],
  openpgp: ['openpgp'],
  notation: ['code-signing'],
} as const satisfies Record<string, readonly AgentPurpose[]>;
export type Protocol = keyof typeof SERVED;
export const PROTOCOLS = Object.keys(SERVED) as Protocol[];

export function serves(protocol: Protocol, purpose: AgentPurpose): boolean {
  return (SERVED[protocol] as readonly AgentPurpose[]).includes(purpose);
}

/** The purposes that a protocol serves, for messages to people. */
export function purposesOf(protocol: Protocol): readonly AgentPurpose[] {
  return SERVED[protocol];
}

/** Whether a key of this purpose signs for `purpose`. `signing` is the purpose of keys for code and documents alike. */
export function keySigns(keyPurpose: string, purpose: AgentPurpose): boolean {
  if (keyPurpose === 'signing') return purpose === 'code-signing' || purpose === 'documents';
  return keyPurpose === purpose;
}
