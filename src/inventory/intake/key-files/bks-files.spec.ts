import { describe, expect, it } from 'vitest';
import { DraftRefs } from '../../model/draft-refs.js';
import { readCredentialFile } from './credential-reader.js';

const PASSWORD = 'changeit';
/**
 * Output of `keytool -storetype BKS` with Bouncy Castle 1.72: a P-256 key pair, an AES secret key, and a trusted entry with the key pair's certificate.
 */
const STORE = Buffer.from(
  'AAAAAgAAABQNvqwrMuI6Bt4QRU/xQA0tvs1UrgAABdYBAAJjYQAAAaIhDGOOAAAAAAAFWC41MDkAAAFIMIIBRDCB6qADAgECAgkAgBw7/B13mFYwCgYIKoZIzj0EAwIwFjEUMBIGA1UEAxMLYmtzLmV4YW1wbGUwHhcNMjYxMTI4MDcyNjI0WhcNMjcwMjI2MDcyNjI0WjAWMRQwEgYDVQQDEwtia3MuZXhhbXBsZTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABPzo4Ag2c1CspSVOBuGat0kb22G2ZQD8K7mK/LiV/Pf3YHdW0zJjKp6aLsc/t1MRL2hGgbkali3CHXluth5P4OOjITAfMB0GA1UdDgQWBBSHAhyLaKUlE1SgT22kr2UbCjaAHDAKBggqhkjOPQQDAgNJADBGAiEAxBXP4rRqL65dS8mlaSuAGzfSBTN32iwWjb8MCE2WC04CIQCXZzJmtwGeiisCGmoY3/DFtqk8uIf5c1iduoi/5fjMSgQABGvDqXkAAAGiIQxOuAAAAAEABVguNTA5AAABSDCCAUQwgeqgAwIBAgIJAIAcO/wdd5hWMAoGCCqGSM49BAMCMBYxFDASBgNVBAMTC2Jrcy5leGFtcGxlMB4XDTI2MTEyODA3MjYyNFoXDTI3MDIyNjA3MjYyNFowFjEUMBIGA1UEAxMLYmtzLmV4YW1wbGUwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAT86OAINnNQrKUlTgbhmrdJG9thtmUA/Cu5ivy4lfz392B3VtMyYyqemi7HP7dTES9oRoG5GpYtwh15brYeT+DjoyEwHzAdBgNVHQ4EFgQUhwIci2ilJRNUoE9tpK9lGwo2gBwwCgYIKoZIzj0EAwIDSQAwRgIhAMQVz+K0ai+uXUvJpWkrgBs30gUzd9osFo2/DAhNlgtOAiEAl2cyZrcBnoorAhpqGN/wxbapPLiH+XNYnbqIv+X4zEoAAAB0AAAAFMWe1gI0S3rbRAg2EsXvMnwWEVmDAAAEATANZmJfZVFTUK9CUEOmpLRSIewcW24sgY1Nqz97BaI30G9UCgUTtKhdo3kVxmfxXGp7qlCVFeOV0+r7RGMPjhrhkFEwq3zBlHo770tCcrieTderzzeBDyUEAANzZWMAAAGiIQxXmAAAAAAAAAA8AAAAFCctc7Q4hlMVAYk/Vxlg+n9fXhCVAAAF81lF+lU7K5Ih2d/XactF8JOGvO7g8elasIaaL4Evgs8dAMLcoJwxiGWVMtuP45vNG6KAzM5Z',
  'base64',
);

function read(bytes: Buffer, password?: string) {
  const draft = readCredentialFile(bytes, { source: 'host:/app.bks', password });
  const components = [...draft.assets(new DraftRefs())].map(({ component }) => component);
  const materials = components.map(({ cryptoProperties }) => cryptoProperties?.relatedCryptoMaterialProperties ?? {});
  const sizes = materials.flatMap(({ type, size }) => (type === 'secret-key' && size !== undefined ? [size] : []));
  return { ...draft, names: components.map(({ name }) => name), sizes };
}

describe('a BKS key store', () => {
  it('lists certificates and keys without a password', () => {
    const { format, names, sizes, rejected, warnings } = read(STORE);
    expect(format).toBe('BKS');
    expect(names).toEqual(
      expect.arrayContaining(['bks.example', 'kéy', 'sec', 'PBEWithSHA1AndDESede', 'SHA256withECDSA']),
    );
    expect(sizes).toEqual([]);
    expect(rejected).toEqual([]);
    expect(warnings).toMatchObject([{ code: 'key-store.secret-keys' }]);
  });

  it('lists algorithm and length of its secret keys with the password, also as base64', () => {
    for (const bytes of [STORE, Buffer.from(STORE.toString('base64'))]) {
      const { names, sizes, warnings } = read(bytes, PASSWORD);
      expect(names).toContain('AES-128');
      expect(sizes).toEqual([128]);
      expect(warnings).toEqual([]);
    }
  });

  it('rejects a wrong password, and any modification', () => {
    const changed = Buffer.from(STORE);
    changed[60] = (changed[60] ?? 0) ^ 1;
    expect(() => read(STORE, 'another')).toThrow(/cannot be opened with this password/);
    expect(() => read(changed, PASSWORD)).toThrow(/cannot be opened|is damaged or of type UBER/);
  });

  it('is rejected if truncated, of type UBER, or with too many rounds', () => {
    const uber = Buffer.concat([STORE.subarray(0, 32), Buffer.alloc(200, 0xc5)]);
    for (const bytes of [STORE.subarray(0, 400), uber])
      expect(() => read(bytes)).toThrow(/damaged or of type UBER, which is not supported/);
    const costly = Buffer.from(STORE);
    costly.writeUInt32BE(2 ** 31, 28);
    expect(() => read(costly, PASSWORD)).toThrow(/more than 3,000,000 password hashing rounds/);
  });
});
