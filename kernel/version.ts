/** The version of the kernel and its bundles: that of package.json. */
export const version = '0.1.0'
