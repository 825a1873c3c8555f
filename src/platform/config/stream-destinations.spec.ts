import { describe, expect, it } from 'vitest';
import { Config } from './config.js';
import { readStreamDestinations } from './stream-destinations.js';

const read = (line: string) => readStreamDestinations([line]).destinations[0];
const faultOf = (line: string) => readStreamDestinations([line]).faults[0];

describe('an audit log receiver', () => {
  it('is a name and a URL, with defaults for the other options', () => {
    expect(read('siem syslog+tls://SIEM.example.com')).toMatchObject({
      name: 'siem',
      kind: 'syslog',
      format: 'json',
      from: 'now',
      maxBytes: 8192,
      resendSeconds: 30,
      enterprise: '32473',
      files: {},
    });
    expect(read('siem syslog+tls://SIEM.example.com')?.url.host).toBe('siem.example.com:6514');
    expect(read('lake https://lake.example.com/in?x=1')).toMatchObject({ kind: 'https', format: 'ocsf' });
  });

  it('accepts options', () => {
    const line =
      'siem syslog+tls://[2001:db8::1]:601 format=cef from=start max-bytes=2048 ca=/etc/ca.pem cert=/c key=/k';
    expect(read(line)).toMatchObject({
      format: 'cef',
      from: 'start',
      maxBytes: 2048,
      files: { ca: '/etc/ca.pem', cert: '/c', key: '/k' },
    });
    expect(read(line)?.url.host).toBe('[2001:db8::1]:601');
  });

  it.each([
    ['Siem syslog+tls://h', 'must start with a name'],
    ['siem', 'must have a URL'],
    ['siem syslog://h', 'must have a URL with the scheme syslog+tls'],
    ['siem udp://h:514', 'must have a URL with the scheme syslog+tls'],
    ['siem syslog+tls://h/path', 'must have a URL such as'],
    ['siem https://user:secret@h/', 'must not have a user or a password in its URL'],
    ['siem https://h/ format=cef', 'must set format to ocsf or json'],
    ['siem syslog+tls://h format=ocsf', 'must set format to json or cef'],
    ['siem syslog+tls://h authorization=/f', 'which syslog does not support'],
    ['siem syslog+tls://h max-bytes=2047', 'must set max-bytes to a number from 2048'],
    ['siem syslog+tls://h resend-seconds=1.5', 'must set resend-seconds'],
    ['siem syslog+tls://h cert=/c', 'must specify cert and key together'],
    ['siem syslog+tls://h verify=no', 'has the unknown option "verify"; the options are'],
    ['siem syslog+tls://h from=now from=start', 'specifies from more than once'],
    ['siem syslog+tls://h enterprise=0', 'must set enterprise to a number'],
  ])('"%s" is rejected: %s', (line, fault) => {
    expect(faultOf(line)).toContain(fault);
    expect(faultOf(line)).not.toContain('secret');
  });

  it('must have a unique name, and all faults are reported at startup', () => {
    const settings = { SVC_AUDIT_STREAMS: 'a https://a.example\na https://b.example\nb ftp://c' };
    expect(() => new Config(settings)).toThrow(/line 2 reuses the name "a"[^]*line 3 must have a URL/);
  });
});
