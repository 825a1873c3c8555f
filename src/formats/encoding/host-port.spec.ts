import { describe, expect, it } from 'vitest';
import { forwardedAddresses, readHostAndPort } from './host-port.js';

describe('a host with a port', () => {
  it.each([
    ['ntp.example.com', 'ntp.example.com', 123],
    ['ntp.example.com:1123', 'ntp.example.com', 1123],
    ['192.0.2.1', '192.0.2.1', 123],
    ['192.0.2.1:1123', '192.0.2.1', 1123],
    ['2001:db8::1', '2001:db8::1', 123],
    ['[2001:db8::1]', '2001:db8::1', 123],
    ['[2001:db8::1]:1123', '2001:db8::1', 1123],
  ])('%s', (text, host, port) => {
    expect(readHostAndPort(text, 123)).toEqual({ host, port });
  });

  it.each(['', ':123', 'http://ntp', 'ntp:', 'ntp:http', 'ntp:0', 'ntp:65536', '[ntp]:123', '2001:db8::1:x', 'a b'])(
    'rejects %j',
    (text) => {
      expect(readHostAndPort(text, 123)).toBeUndefined();
    },
  );
});

describe('client addresses forwarded by proxies', () => {
  it.each([
    ['203.0.113.9', ['203.0.113.9']],
    ['203.0.113.9:54321', ['203.0.113.9']],
    ['[2001:db8::7]:4711, 10.1.2.3:443', ['2001:db8::7', '10.1.2.3']],
    ['::ffff:203.0.113.5', ['203.0.113.5']],
    ['198.51.100.1, unknown, 203.0.113.9', ['203.0.113.9']],
    ['203.0.113.9, garbage', []],
    ['', []],
  ])('%j', (header, addresses) => {
    expect(forwardedAddresses(header)).toEqual(addresses);
  });
});
