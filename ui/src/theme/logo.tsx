/** Logo is decorative: the product name next to it is text. */
export function Logo({ size = 28 }: { size?: number }) {
  return (
    <svg viewBox="0 0 32 32" width={size} height={size} aria-hidden="true" className="sw-logo">
      <path
        className="sw-logo__seal"
        d="M16 1.5 19.3 4l4.1-.5 1.6 3.8 3.8 1.6-.5 4.1 2.5 3.3-2.5 3.3.5 4.1-3.8 1.6-1.6 3.8-4.1-.5-3.3 2.5-3.3-2.5-4.1.5-1.6-3.8-3.8-1.6.5-4.1L1.2 16.3l2.5-3.3-.5-4.1L7 7.3l1.6-3.8 4.1.5z"
      />
      <path className="sw-logo__tick" d="m10.5 16.5 4 4 7.5-8.5" />
    </svg>
  );
}
