"""The papers' generation evaluation: answers written from two methods' documents, and judges that compare them."""
