/* The bytes of the page before its data, and after it: see enc_html.c. scripts/html-page makes the files. */
    .section .rodata
    .hidden html_page_before, html_page_before_end, html_page_after, html_page_after_end
    .global html_page_before, html_page_before_end, html_page_after, html_page_after_end
html_page_before:
    .incbin "html_page.before"
html_page_before_end:
html_page_after:
    .incbin "html_page.after"
html_page_after_end:
    .section .note.GNU-stack, "", %progbits
