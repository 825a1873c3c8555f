/** AGENT_PURPOSES lists the purposes of signatures, as named in the service's API (`purpose` of keys and requests). */
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
 * Purposes that each local protocol can serve. PKCS #11 passes only a digest, so it serves purposes that sign bare digests, and logins of programs that support
 * no other protocol. The messages of SSH signatures and OpenPGP can be parsed, so only protocols that parse these messages serve these purposes.
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

export function purposesOf(protocol: Protocol): readonly AgentPurpose[] {
  return SERVED[protocol];
}

/** Reports whether a key of this purpose signs for `purpose`. Keys with the purpose `signing` sign both code and documents. */
export function keySigns(keyPurpose: string, purpose: AgentPurpose): boolean {
  if (keyPurpose === 'signing') return purpose === 'code-signing' || purpose === 'documents';
  return keyPurpose === purpose;
}
