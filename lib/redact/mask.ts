/** Stands for every secret. */
export const mask = '******'
