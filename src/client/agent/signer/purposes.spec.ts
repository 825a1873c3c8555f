import { describe, expect, it } from 'vitest';
import { keySigns, type Protocol, PROTOCOLS, type AgentPurpose, AGENT_PURPOSES, serves } from './purposes.js';

/** Purposes supported by each protocol. Every other purpose is rejected. */
const TABLE: Record<Protocol, readonly AgentPurpose[]> = {
  pkcs11: ['code-signing', 'documents', 'tls-client', 'ssh-login'],
  'ssh-agent': ['ssh-login', 'ssh-signatures'],
  openpgp: ['openpgp'],
  notation: ['code-signing'],
};

describe('purposes and protocols', () => {
  it.each(PROTOCOLS.flatMap((protocol) => AGENT_PURPOSES.map((purpose) => [protocol, purpose] as const)))(
    '%s, %s',
    (protocol, purpose) => {
      expect(serves(protocol, purpose)).toBe(TABLE[protocol].includes(purpose));
    },
  );

  it.each(AGENT_PURPOSES)('a key for %s signs for no other purpose', (purpose) => {
    expect(AGENT_PURPOSES.filter((asked) => keySigns(purpose, asked))).toEqual([purpose]);
  });

  it('keys without a specific purpose sign code and documents; internal keys of the service sign nothing', () => {
    const signs = (purpose: string) => AGENT_PURPOSES.filter((asked) => keySigns(purpose, asked));
    expect(signs('signing')).toEqual(['code-signing', 'documents']);
    expect([...signs('timestamping'), ...signs('certificates')]).toEqual([]);
  });
});
