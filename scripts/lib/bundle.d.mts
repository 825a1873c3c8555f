/** A segment of a source map (ECMA-426): its column and, when it is mapped, the source and its line and column. */
export type Segment = readonly number[];

export declare function ownMappings(lines: Segment[][], isOwn: readonly boolean[]): Segment[][];

export declare function bundlePrograms(): Promise<void>;
export declare function inAscii(code: string): string;
