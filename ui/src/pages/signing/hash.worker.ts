import { sha256, sha384, sha512 } from '@noble/hashes/sha2.js';
import { sha3_256, sha3_384, sha3_512 } from '@noble/hashes/sha3.js';

const HASHES = {
  sha256,
  sha384,
  sha512,
  'sha3-256': sha3_256,
  'sha3-384': sha3_384,
  'sha3-512': sha3_512,
};

export type DigestAlgorithm = keyof typeof HASHES;

export interface HashOrder {
  readonly file: File;
  readonly algorithm: DigestAlgorithm;
}

export type HashReport = { readonly read: number } | { readonly digest: string } | { readonly fault: string };

const EVERY = 100;

/** digest hashes a file in chunks, so that files of any size need constant memory and no upload. */
async function digest({ file, algorithm }: HashOrder): Promise<string> {
  const hash = HASHES[algorithm].create();
  const reader = file.stream().getReader();
  let read = 0;
  let reportedAt = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    hash.update(value);
    read += value.byteLength;
    if (performance.now() - reportedAt > EVERY) {
      reportedAt = performance.now();
      postMessage({ read } satisfies HashReport);
    }
  }
  return btoa(String.fromCharCode(...hash.digest()));
}

addEventListener('message', ({ data }: MessageEvent<HashOrder>) => {
  digest(data).then(
    (text) => postMessage({ digest: text } satisfies HashReport),
    (error: unknown) => postMessage({ fault: error instanceof Error ? error.message : '' } satisfies HashReport),
  );
});
