export const AXES = ['quantum', 'classical', 'lifecycle', 'material', 'quality', 'both'] as const;
