import { describe, expect, it } from 'vitest';
import { hostCheck } from './host-names.js';

const isOurs = hostCheck({
  publicUrl: 'https://Sealwright.example.com:8443/',
  allowedHosts: ['api', '*.svc.cluster.local', '[2001:db8::5]'],
});
const HERE = '192.0.2.7';

describe('the Host header', () => {
  it.each([
    'sealwright.example.com',
    'SEALWRIGHT.example.com:8443',
    'sealwright.example.com.',
    'localhost',
    'localhost:9090',
    'app.localhost:9090',
    '127.0.0.1:9090',
    '127.5.5.5',
    '[::1]:9090',
    'api:9090',
    'sw.team.svc.cluster.local',
    '[2001:DB8::5]:443',
    `${HERE}:9090`,
  ])('accepts %s', (host) => expect(isOurs(host, HERE)).toBe(true));

  it.each([
    'rebound.attacker.example',
    'attacker.example:9090',
    'sealwright.example.com.attacker.example',
    'evilsealwright.example.com',
    'svc.cluster.local',
    'localhost.attacker.example',
    'notlocalhost',
    '127.0.0.1.attacker.example',
    '192.0.2.8',
    '0.0.0.0',
    '[2001:db8::6]',
    'localhost@attacker.example',
    'attacker.example#localhost',
    'attacker.example/localhost',
    'localhost, attacker.example',
    'ⓛocalhost.attacker.example',
    '',
    undefined,
  ])('rejects %s', (host) => expect(isOurs(host, HERE)).toBe(false));

  it('accepts an IP address only if the connection was received on it', () => {
    expect(isOurs('[2001:db8::9]:1', '2001:db8::9')).toBe(true);
    expect(isOurs('[2001:db8::9]:1', '2001:db8::8')).toBe(false);
  });
});
