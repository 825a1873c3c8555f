import { useEffect, useState } from 'react';
import type { DigestAlgorithm, HashOrder, HashReport } from './hash.worker.js';

export interface FileDigest {
  /** Bytes read so far. */
  readonly read: number;
  /** Base64 digest, once the whole file has been read. */
  readonly digest?: string;
  /** Read error, for example because the file was changed while it was read. */
  readonly fault?: string;
}

/** useFileDigest hashes a file in a dedicated worker whenever the file or the algorithm changes. */
export function useFileDigest(file: File | undefined, algorithm: DigestAlgorithm): FileDigest {
  const [state, setState] = useState<FileDigest>({ read: 0 });
  useEffect(() => {
    setState({ read: 0 });
    if (file === undefined) return undefined;
    const worker = new Worker(new URL('./hash.worker.ts', import.meta.url), { type: 'module' });
    worker.addEventListener('message', ({ data }: MessageEvent<HashReport>) => {
      if ('read' in data) setState({ read: data.read });
      else if ('digest' in data) setState({ read: file.size, digest: data.digest });
      else setState({ read: 0, fault: data.fault });
    });
    worker.addEventListener('error', (event) => setState({ read: 0, fault: event.message }));
    worker.postMessage({ file, algorithm } satisfies HashOrder);
    return () => worker.terminate();
  }, [file, algorithm]);
  return state;
}

/** hexOf converts base64 to hexadecimal, as printed by sha256sum. */
export function hexOf(base64: string): string {
  return Array.from(atob(base64), (char) => char.charCodeAt(0).toString(16).padStart(2, '0')).join('');
}
