import { describe, expect, it } from 'vitest';
import { DraftRefs } from '../../model/draft-refs.js';
import { readCredentialFile } from './credential-reader.js';

const PASSWORD = 'changeit';

function componentsOf(pem: string, password: string) {
  const draft = readCredentialFile(Buffer.from(pem), { source: 'host:/key.pem', password });
  return [...draft.assets(new DraftRefs())].map(({ component }) => component);
}

/** Private key encrypted with single DES: openssl pkcs8 -topk8 -v2 des-cbc. */
const DES =
  'MIHgMEsGCSqGSIb3DQEFDTA+MCkGCSqGSIb3DQEFDDAcBAhWZ+C4Paaz8gICCAAwDAYIKoZIhvcNAgkFADARBgUrDgMCBwQIHuykoy1UANoEgZDFQ1VJ9NgUlDk019Q7qTdHETTZ1Q4FK3XL/a2ykTrzO94BdZFuIuusNkdqEE6zcJRY/bPzIBoKJ9h2BqP4iFvdZOc/kGp9zrzO3xjvkWiJ05nRtwrICf/jivRTToGrcIodqbPw/I234mhacYPp3XoGJn6pfcROVUmuwq26N5nCXWneoW1DsbK7PXbMaaIFXR0=';

const namesIn = (pem: string, password: string) => componentsOf(pem, password).map(({ name }) => name);
const keysOf = (pem: string, password: string) =>
  componentsOf(pem, password)
    .filter(({ cryptoProperties }) => cryptoProperties?.assetType === 'related-crypto-material')
    .map(({ name }) => name);

describe('an encrypted private key', () => {
  /** Output of `openssl pkcs8 -topk8` for one P-256 key. */
  it.each([
    [
      'scrypt',
      'PBES2-scrypt-AES-256-CBC',
      'MIHkME8GCSqGSIb3DQEFDTBCMCEGCSsGAQQB2kcECzAUBAhoXCFixEDJhwICQAACAQgCAQEwHQYJYIZIAWUDBAEqBBDAzCGKTc4M79NI06UX/2swBIGQSW5dtqczeT6su1GSpcG6Mff+JO086PFuKTzKHnQgNZXZhHBcbeTnA9sifTZBbweOzJMJ25ZfxXLY/vTy8YWeMi9zeMXF82ELdNeHu0iNws4UPCoJDCk6XogKIpOcwOGXSp/FUA5c9gAHdDBq1frDemy+l/CwqNpErpF2spzi+SumbNRHhrFjbrhfzTk4niyO',
    ],
    [
      'Camellia',
      'PBES2-HMAC-SHA256-CAMELLIA-256-CBC',
      'MIHuMFkGCSqGSIb3DQEFDTBMMCkGCSqGSIb3DQEFDDAcBAiYFs0zwkR+QgICCAAwDAYIKoZIhvcNAgkFADAfBgsqgwiMmks9AQEBBAQQee74NDsXPx8xUBLjQE1TpQSBkFQ+mSt+2sMYvfYuqgFA6nXeZgI1Yvn1V7vk8QWlE86bMITwSRNMOYAQOydmfnuMwVWKXaZ6atf2ofj/t70ro6zuDoDYGmJNX/Tsnlp941AXrji8H+Fy+GqZwEG1Vnaweo9U2tupCJjtwmlDPhh+2zt5WEDMEXpmH8JEZjcSDW7IEpVdluXWRURe5NWVH8gPug==',
    ],
    ['DES', 'PBES2-HMAC-SHA256-DES-CBC', DES],
    [
      'PKCS #5 of before 2.0',
      'PBEWithMD5AndDES-CBC',
      'MIGwMBsGCSqGSIb3DQEFAzAOBAhjrIQgmAZMygICCAAEgZCHDl7SYbgK5nJLttMPoWzrH/m2lQGnu5jofHaZay01iOwzAToQJyb4LJ1ibRmgIUknpJALCtvxz5XzwH5nS2c+u91NNV9vy1p8L32VhO2lAprQ0R1Nd8kxANwgbvLbD9LHr7P808nSnCvSXesBV7+M3yYiOA8ivd8NNgTifT/fqaI/wXmNqoqt5zozC/qF06U=',
    ],
    [
      'RC2 of before 2.0',
      'PBEWithSHA1AndRC2-CBC',
      'MIGwMBsGCSqGSIb3DQEFCzAOBAjwehyNMQICYgICCAAEgZCEQlD3UvtUPFIQuiT8AZGc84koQNnTBK7r/jVy0eliNgBrRgPMnomBlI3xX/X+dCSAuQxuUuDc1NHcRbczzGenOW4ejwDlNWY+jOnEFs1ttVPFHrinI7CDkhU+kmIyDnA/2shK5Y71lxIisdRUJvCHSqaQbwpeO5LDiAtENm8WbW0aXGxZsQtUhqhWJglxCNw=',
    ],
    [
      'SM4 and SHA-512/256',
      'PBES2-HMAC-SHA512-256-SM4-CBC',
      'MIHrMFYGCSqGSIb3DQEFDTBJMCkGCSqGSIb3DQEFDDAcBAgJHsqDd0UjAgICCAAwDAYIKoZIhvcNAg0FADAcBggqgRzPVQFoAgQQ8Tiw87D6jgijaWdInkPeXwSBkAkmRr84rjjG9SNqFMc9ozHIEZ6Fm9g4NbbIx5JLm0MF3+hGj4rBHpgiLmIGW2LLbXLfR9JFUCjsra2EYTrp6TxdAc0/fbDNmY2uszybTqUxzkWWQ453mY3QyvAxDlCMCq/BgLWAOROC1zbm7QHsGp763T17CvyMdZnUznEUqD5GZeXUvYlcbKdCvTf1XjOlmg==',
    ],
  ])('is named by its cipher and decrypted: %s', (_, scheme, base64) => {
    const pem = `-----BEGIN ENCRYPTED PRIVATE KEY-----\n${base64}\n-----END ENCRYPTED PRIVATE KEY-----`;
    expect(namesIn(pem, 'another')).toContain(scheme);
    expect(keysOf(pem, 'another')).toEqual([expect.stringContaining('encrypted private key')]);
    expect(keysOf(pem, PASSWORD)).toEqual([OPENED]);
  });

  it('with an unregistered cipher is named by the cipher alone, not by its key derivation', () => {
    const unknown = Buffer.from(DES, 'base64');
    // Changes 1.3.14.3.2.7 to 1.3.14.3.2.127.
    unknown[unknown.indexOf(Buffer.from('06052b0e030207', 'hex')) + 6] = 0x7f;
    const pem = `-----BEGIN ENCRYPTED PRIVATE KEY-----\n${unknown.toString('base64')}\n-----END ENCRYPTED PRIVATE KEY-----`;
    const names = namesIn(pem, PASSWORD);
    expect(names).toContain('encrypted as 1.3.14.3.2.127');
    expect(names.join()).not.toContain('PBES2');
  });

  const OPENED = 'private key b8442ef37630fc0b';
});
