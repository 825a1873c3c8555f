/** Why what was sent is not the signature that it should be: for whoever asked. */
export class BadSignature extends Error {}
