import { EMPTY_ROOT, nodeHash } from './merkle-hash.js';

/** The root of a growing tree (RFC 6962) in memory of its logarithm: the full subtrees so far, largest first. */
export class GrowingRoot {
  private readonly peaks: { height: number; hash: Buffer }[] = [];
  size = 0;

  add(hash: Buffer): void {
    let peak = { height: 0, hash };
    for (let last = this.peaks.at(-1); last?.height === peak.height; last = this.peaks.at(-1)) {
      peak = { height: peak.height + 1, hash: nodeHash(last.hash, peak.hash) };
      this.peaks.pop();
    }
    this.peaks.push(peak);
    this.size += 1;
  }

  root(): Buffer {
    const [last, ...rest] = this.peaks.toReversed();
    return last === undefined ? EMPTY_ROOT : rest.reduce((right, { hash }) => nodeHash(hash, right), last.hash);
  }
}
